"""etlab.exir.partition"""
