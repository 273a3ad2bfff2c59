"""etlab.numerics"""
