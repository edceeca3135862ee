"""Charts: tables drawn as SVG, in colours that a style sheet decides."""
