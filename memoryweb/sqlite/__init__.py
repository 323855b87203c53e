"""The SQLite database backend: which library, and a write lock that is fair."""
