"""Reports for people: pages, tables and figures made from results."""
