"""etlab.widgets"""
