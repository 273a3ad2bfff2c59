"""etlab.exir.memory"""
