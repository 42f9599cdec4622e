"""A method, a domain and an encoder for sgp, as small as can be."""
