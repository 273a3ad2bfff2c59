"""etlab.exir.emit"""
