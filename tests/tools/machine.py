#!/usr/bin/python3
"""machine - stands for the outside world, with names and servers, in tests of network rules.

    machine.py DIR

Runs in a user, mount and network namespace of its own with all rights there.  tests/cli/machine.bash
makes these namespaces.  Every address of IPv4 and IPv6 belongs to this machine.  So no packet can
leave it, and its servers can have public addresses.  The web servers show the files of DIR/www.  The
TLS servers use DIR/cert.pem and DIR/key.pem.

    DIR/hosts   has more names of this machine, besides those of NAMES
    DIR/ready   is written when the servers listen
    DIR/packets has a line for each packet in this network namespace: PROTOCOL ADDRESS PORT

All addresses have these servers: HTTP on 80 and 8080, HTTPS on 443 and 8443, and those of SERVICES.
The servers run until standard input ends.
"""

import array
import hashlib
import http.server
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

NAMES = """\
127.0.0.1 localhost
::1 localhost
93.184.216.34 allowed.test other.test wild.test a.wild.test b.c.wild.test bad.wild.test both.test tricked.test
2606:2800::34 six.test both.test
127.0.0.1 loopback.test
::1 loopback6.test
10.1.2.3 private.test
169.254.7.7 linklocal.test
169.254.169.254 metadata.test
0.0.0.0 unspecified.test
10.1.2.3 mixed.test
93.184.216.34 mixed.test
"""
SOURCES = ("93.184.216.34/32", "2606:2800::34/128")


def run(*command):
    subprocess.run(command, check=True)


def set_up(place):
    """Make all addresses local, and put files with names over those of /etc."""
    run("busybox", "ip", "link", "set", "lo", "up")
    for source in SOURCES:
        family = "-6" if ":" in source else "-4"
        run("busybox", "ip", family, "addr", "add", source, "dev", "lo")
        run("busybox", "ip", family, "route", "add", "local", "::/0" if ":" in source else "0.0.0.0/0",
            "dev", "lo", "table", "local")
    texts = {"hosts": NAMES, "nsswitch.conf": "hosts: files\n", "resolv.conf": "nameserver 192.0.2.53\n"}
    if not all(os.path.exists("/etc/" + name) for name in texts):
        show_copy_of_etc(place, texts)
    for name, text in texts.items():
        path = os.path.join(place, name)
        with open(path, "a") as file:
            file.write(text)
        os.chmod(path, 0o644)
        run("mount", "--bind", path, os.path.realpath("/etc/" + name))


def show_copy_of_etc(place, names):
    """Mount a copy of /etc that has all these files, since a file can be mounted only on a file."""
    copy = os.path.join(place, "etc")
    try:
        shutil.copytree("/etc", copy, symlinks=True)
    except shutil.Error:
        pass  # files that this user may not read are left out
    for name in names:
        if not os.path.exists(os.path.join(copy, name)):
            open(os.path.join(copy, name), "w").close()
    run("mount", "--bind", copy, "/etc")


# -------------------------------------------------------------------- packets


def watch(place):
    """Write a line for each packet when it is received, and none when it is sent."""
    ports = {socket.IPPROTO_TCP: "tcp", socket.IPPROTO_UDP: "udp"}
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
    tap.bind(("lo", 3))
    with open(os.path.join(place, "packets"), "w", buffering=1) as out:
        while True:
            data, (_, kind, how, _, _) = tap.recvfrom(256)
            if how != socket.PACKET_HOST:
                continue
            if kind == 0x0800:
                header, protocol = (data[0] & 15) * 4, data[9]
                address = socket.inet_ntop(socket.AF_INET, data[16:20])
            else:
                header, protocol = 40, data[6]
                address = socket.inet_ntop(socket.AF_INET6, data[24:40])
            port = struct.unpack("!H", data[header + 2:header + 4])[0] if protocol in ports else 0
            print(ports.get(protocol, protocol), address, port, file=out)


# -------------------------------------------------------------------- servers


class Web(http.server.SimpleHTTPRequestHandler):
    """Answers GET with a file of DIR/www, N bytes for /size/N, or the Host header for /host.

    Answers POST with the hash of the body.
    """

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/host":
            self.answer(f"host {self.headers['Host']}\n".encode())
        elif self.path.startswith("/size/"):
            self.answer(numbers(int(self.path[6:])))
        else:
            super().do_GET()

    def do_POST(self):
        left, seen = int(self.headers["Content-Length"]), hashlib.sha256()
        while left:
            part = self.rfile.read(min(left, 1 << 16))
            seen.update(part)
            left -= len(part)
        self.answer(f"{seen.hexdigest()}\n".encode())


def numbers(size):
    """Returns bytes in which no word of 8 bytes occurs twice, so that misplaced bytes show."""
    return array.array("Q", range(size // 8 + 1)).tobytes()[:size]


class Listener(http.server.ThreadingHTTPServer):
    request_queue_size = 512
    address_family = socket.AF_INET6
    tls = None

    def get_request(self):
        connection, peer = super().get_request()
        if self.tls:  # the thread of the connection makes the handshake
            connection = self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, peer

    def handle_error(self, *_):
        pass


def serve_web(place, port, tls):
    class Handler(Web):
        def __init__(self, *args):
            super().__init__(*args, directory=os.path.join(place, "www"))

    server = Listener(("::", port), Handler, bind_and_activate=False)
    server.tls = tls
    server.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.server_bind()
    server.server_activate()
    threading.Thread(target=server.serve_forever, daemon=True).start()


def echo(connection):
    while data := connection.recv(65536):
        connection.sendall(data)


def summarise(connection):
    """Read to the end, and then answer.  So the peer must be able to close one direction."""
    seen, size = hashlib.sha256(), 0
    while data := connection.recv(65536):
        seen.update(data)
        size += len(data)
    connection.sendall(f"{size} {seen.hexdigest()}\n".encode())


def speak_first(connection):
    """Answer at once, close this direction, and then read to the end."""
    connection.sendall(b"welcome\n")
    connection.shutdown(socket.SHUT_WR)
    summary = b""
    while data := connection.recv(65536):
        summary += data


def hesitate(connection):
    """Echo two bytes at a time, with pauses."""
    for _ in range(4):
        time.sleep(0.2)
        connection.sendall(connection.recv(2))


SERVICES = {7000: echo, 7001: summarise, 7002: speak_first, 7003: hesitate}


def serve(port, what):
    listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512)

    def handle(connection):
        try:
            with connection:
                what(connection)
        except OSError:
            pass

    def accept():
        while True:
            threading.Thread(target=handle, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def main(place):
    set_up(place)
    threading.Thread(target=watch, args=(place,), daemon=True).start()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(os.path.join(place, "cert.pem"), os.path.join(place, "key.pem"))
    for port, context in {80: None, 8080: None, 443: tls, 8443: tls}.items():
        serve_web(place, port, context)
    for port, what in SERVICES.items():
        serve(port, what)
    while not os.path.exists(os.path.join(place, "packets")):
        time.sleep(0.01)
    with open(os.path.join(place, "ready"), "w") as file:
        file.write("ready\n")
    sys.stdin.read()


main(sys.argv[1])
