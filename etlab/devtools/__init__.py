"""etlab.devtools"""
