"""Shell commands as data: a parser of bash's language, and the simple commands of a text."""
