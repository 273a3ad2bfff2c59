"""etlab.backends"""
