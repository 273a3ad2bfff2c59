"""etlab.inspect"""
