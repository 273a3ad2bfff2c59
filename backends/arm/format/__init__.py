"""The TOSA file format: Arm's tensor operators as a FlatBuffer."""
