#!/usr/bin/python3
"""machine - a machine with servers, for programs whose way out of a sandbox is tested.

    machine.py DIR

Runs in a user, mount and network namespace of its own (tests/cli/machine.bash makes them), with all
rights there.  Every address of IPv4 and IPv6 is one of this machine, so nothing that a program sends
can leave it, and servers can have public addresses.  DIR has the files of the web servers in DIR/www,
and the certificate and key of the TLS servers in DIR/cert.pem and DIR/key.pem.

    DIR/hosts   the names of this machine, in addition to those of NAMES
    DIR/ready   is written when the servers listen
    DIR/packets a line for each packet of the machine's own network: PROTOCOL ADDRESS PORT

The servers, on all addresses: HTTP on 80 and 8080, HTTPS on 443 and 8443, and those of SERVICES.
They end with standard input.
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
    """Make all addresses local, and give the machine names of its own."""
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
    """Make the names that /etc lacks, in a copy: files can be mounted only on files."""
    copy = os.path.join(place, "etc")
    try:
        shutil.copytree("/etc", copy, symlinks=True)
    except shutil.Error:
        pass  # what this user may not read
    for name in names:
        if not os.path.exists(os.path.join(copy, name)):
            open(os.path.join(copy, name), "w").close()
    run("mount", "--bind", copy, "/etc")


# -------------------------------------------------------------------- packets


def watch(place):
    """Note each packet once: as it is received."""
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
    """Files of DIR/www; /size/N: N bytes; POST: the hash of what was sent, and the host that was asked."""

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
    """Bytes in which none is at the place of another."""
    return array.array("Q", range(size // 8 + 1)).tobytes()[:size]


class Listener(http.server.ThreadingHTTPServer):
    request_queue_size = 512
    address_family = socket.AF_INET6
    tls = None

    def get_request(self):
        connection, peer = super().get_request()
        if self.tls:  # the handshake is made by the thread of the connection
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
    """Read all, and then answer: the other side must be able to close one direction."""
    seen, size = hashlib.sha256(), 0
    while data := connection.recv(65536):
        seen.update(data)
        size += len(data)
    connection.sendall(f"{size} {seen.hexdigest()}\n".encode())


def speak_first(connection):
    """Answer and close one direction at once, and read on."""
    connection.sendall(b"welcome\n")
    connection.shutdown(socket.SHUT_WR)
    summary = b""
    while data := connection.recv(65536):
        summary += data


def hesitate(connection):
    """Read little by little, and answer as slowly."""
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
