"""Input normalisation, the 1D-CNN encoder, the growing head."""
