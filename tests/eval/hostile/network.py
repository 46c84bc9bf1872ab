#=== inet: refused
import socket
must_fail(socket.create_connection, ('1.1.1.1', 53), 1)
#=== inet6: refused
import socket
must_fail(socket.socket, socket.AF_INET6, socket.SOCK_STREAM)
#=== udp: refused
import socket
must_fail(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('8.8.8.8', 53)))
#=== raw_socket: refused
import socket
must_fail(socket.socket, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
#=== packet_socket: refused
import socket
must_fail(socket.socket, socket.AF_PACKET, socket.SOCK_RAW)
#=== netlink: refused
import socket
must_fail(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW)
#=== vsock: refused
import socket
must_fail(socket.socket, socket.AF_VSOCK, socket.SOCK_STREAM)
#=== crypto_socket: refused
import socket
must_fail(socket.socket, 38, socket.SOCK_SEQPACKET)
#=== unix_connect: refused
import socket
must_fail(lambda: socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock'))
#=== abstract_unix: refused
import socket
must_fail(lambda: socket.socket(socket.AF_UNIX).bind('\0marker'))
#=== resolve: refused
import socket
must_fail(socket.getaddrinfo, 'example.com', 80)
#=== urllib: refused
import urllib.request
must_fail(urllib.request.urlopen, 'http://example.com', None, 1)
#=== listen: refused
import socketserver
must_fail(socketserver.TCPServer, ('127.0.0.1', 8080), None)
#=== asyncio_connect: refused
import asyncio
must_fail(asyncio.run, asyncio.open_connection('127.0.0.1', 22))
#=== raw_socket_call: refused
must_fail(raw, 41, 2, 1, 0)
#=== socketpair_connects_nowhere: refused
import socket
left, right = socket.socketpair()
must_fail(left.connect, '/var/run/docker.sock')
