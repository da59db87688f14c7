"""How far a small benchmark can be trusted, and a better one."""
