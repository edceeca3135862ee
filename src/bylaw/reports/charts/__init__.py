"""Charts: tables drawn as SVG. A style sheet sets the colours."""
