"""etlab.magics"""
