"""A minimal method, domain and encoder for sgp."""
