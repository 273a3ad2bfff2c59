"""etlab.models"""
