"""Lets the native part find OpenVINO; the runtime imports this when a program needs it."""

from etlab.backends.openvino.package import show_library

show_library()
