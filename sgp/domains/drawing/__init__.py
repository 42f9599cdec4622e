"""What the domains' drawings are made of, and the drawing of domains that the house does not know."""
