"""Pages that are one file each: no network, no server, no build step."""
