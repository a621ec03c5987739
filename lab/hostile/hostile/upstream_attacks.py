"""Upstreams that lie or fail, and tenants that crowd each other out."""

import asyncio
import json
import socket

from .client import CHAT, ask, chat, request, send
from .proxy import Proxy


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def two_lengths(upstream):
    async with Proxy(upstream) as proxy:
        raw = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        answer = await ask(proxy.port, CHAT, chat(), [("x-hostile", "raw=" + raw.hex())])
        looks_whole = answer is not None and answer.status == 200 and answer.is_whole
        return not looks_whole, f"the client got {answer.status if answer else 'a broken connection'}", proxy


async def forged_headers(upstream):
    async with Proxy(upstream) as proxy:
        raw = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"
        switched = await ask(proxy.port, CHAT, chat(), [("x-hostile", "raw=" + raw.hex())])
        answer = await ask(proxy.port, CHAT, chat(), [("x-hostile", "headers=1")])
        forged = "forged" in answer.head
        status = switched.status if switched else None
        return status == 502 and not forged, f"unrequested 101: {status}; forged headers passed on: {forged}", proxy


async def speaks_no_tls(reader, writer):
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
    await writer.drain()
    writer.close()


async def failing_upstreams(upstream):
    refused = free_port()
    plain = await asyncio.start_server(speaks_no_tls, "127.0.0.1", 0)
    plain_port = plain.sockets[0].getsockname()[1]
    more = (
        f'[workload.refused]\nupstream.openai = "http://127.0.0.1:{refused}"\n'
        '[workload.dns]\nupstream.openai = "http://nobody.invalid"\n'
        f'[workload.tls]\nupstream.openai = "https://127.0.0.1:{plain_port}"\n'
    )
    async with Proxy(upstream, more) as proxy:
        codes = []
        for name in ["refused", "dns", "tls"]:
            answer = await ask(proxy.port, f"/w/{name}{CHAT}", chat())
            codes.append(json.loads(answer.body)["error"]["code"] if answer else None)
        return codes == ["upstream-refused", "upstream-dns", "upstream-tls"], ", ".join(map(str, codes)), proxy


async def broken_streams(upstream):
    async with Proxy(upstream) as proxy:
        answers = await asyncio.gather(*(ask(proxy.port, CHAT, chat(), [("x-hostile", "reset=1")]) for _ in range(50)))
        whole = sum(answer is not None and answer.status == 200 and answer.is_whole for answer in answers)
        after = await ask(proxy.port, CHAT, chat())
        return whole == 0 and after.status == 200, f"50 reset in the middle: {whole} looked complete, the next request got {after.status}", proxy


async def crowding_tenant(upstream):
    more = '[workload.heavy]\npreset = "steady"\n[workload.light]\npreset = "tessera"\n'
    async with Proxy(upstream, more) as proxy:
        heavy = chat(turns=4_001, text="words of a long conversation " * 100)
        done = asyncio.Event()

        async def crowd():
            while not done.is_set():
                await ask(proxy.port, "/w/heavy" + CHAT, heavy, seconds=60)

        crowds = [asyncio.create_task(crowd()) for _ in range(8)]
        await asyncio.sleep(1)
        light = request("/w/light" + CHAT, chat(turns=21))
        failed = 0
        for _ in range(100):
            answer = await send(proxy.port, light, 30)
            failed += answer is None or answer.header("x-secateur-stack") != "m7"
        done.set()
        await asyncio.gather(*crowds)
        return failed == 0, f"8 clients with {len(heavy) >> 10} KB: {failed} of 100 small requests of another went unpruned", proxy
