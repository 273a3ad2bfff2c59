"""etlab.exir"""
