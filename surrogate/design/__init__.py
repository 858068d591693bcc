"""Input spaces and the samplers that choose points in them."""
