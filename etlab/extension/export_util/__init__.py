"""Small helpers of export scripts."""
