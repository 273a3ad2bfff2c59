"""etlab.quantize"""
