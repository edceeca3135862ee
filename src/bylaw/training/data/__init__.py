"""Training data: simplified templates, the corpus, held-out splits, transcripts."""
