"""Repositories of the study: which, how they are downloaded, and the tools that read them."""
