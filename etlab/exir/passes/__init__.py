"""etlab.exir.passes"""
