"""Run by the tests in a process of its own: forks clients of a campaign, kills some, and tells what it saw as JSON.

`kills URL COUNT`: a client records as fast as it can and is killed with SIGKILL at a random moment, COUNT times.
`crowd URL PROCESSES ROUNDS`: that many clients at once, and a reader beside them.
`births URL PROCESSES`: that many clients make the database at the same moment.
`interrupts URL COUNT`: a client that gets SIGINT at a random moment of a write and goes on, COUNT times.
`full URL ROUNDS`: a client whose files may not grow any more, as on a full disk.
"""

import json
import os
import random
import resource
import signal
import sys
import threading
import time

import apportion as ap

ARMS = ("a", "b", "c", "d", "e")


def fork(work):
    """Run `work(write)` in a child; gives its id and the end of a pipe to read what it wrote."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        code = 1
        try:
            work(lambda line: os.write(writer, (line + "\n").encode()))
            code = 0
        except BaseException as error:
            os.write(writer, f"error {type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(code)
    os.close(writer)
    return pid, reader


def lines(reader):
    with os.fdopen(reader) as stream:
        return stream.read().splitlines()


def client(name, url, rounds):
    def work(write):
        campaign = ap.Campaign.open(name, db=url)
        for _ in range(rounds):
            split = campaign.split()
            write(f"split {split.ticket}")
            for arm in ARMS:
                if split.amounts[arm] > 0:
                    campaign.record(split.ticket, {arm: outcome_of(split.ticket)})
                    write(f"record {split.ticket} {arm}")

    return work


def fresh(name, url):
    ap.Campaign.create(name, ARMS, budget=100, b=0.75, sigma=5.0, db=url, seed=1)


def outcome_of(ticket):
    """Another one for each ticket, and none ten times off the others, which would have to be confirmed."""
    return 1000.0 + ticket


def recorded_in(name, url):
    """How often each outcome was recorded, and the tickets."""
    events = ap.Campaign.open(name, db=url).events()
    counts = {}
    for event in events:
        if event.kind == "outcome":
            for arm, value in event.payload["outcomes"].items():
                assert value == outcome_of(event.ticket)
                counts[event.ticket, arm] = counts.get((event.ticket, arm), 0) + 1
    return counts, [event.ticket for event in events if event.kind == "split"]


def kills(url, count):
    rng = random.Random(4)
    acknowledged = lost = doubled = broken = 0
    longest = 0.15
    for number in range(count):
        name = f"kills {number // 20}"
        if number % 20 == 0:
            fresh(name, url)
        pid, reader = fork(client(name, url, 10_000))
        time.sleep(rng.uniform(0.01, longest))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        output = lines(reader)
        assert not [line for line in output if line.startswith("error")], output[-1]
        counts, tickets = recorded_in(name, url)
        for line in output:
            verb, ticket, *arm = line.split()
            acknowledged += 1
            if verb == "split":
                lost += int(ticket) not in tickets
            else:
                lost += (int(ticket), arm[0]) not in counts
        if not output or acknowledged < 2 * (
            number + 1
        ):  # on a busy machine it hardly begins: the next one has longer
            longest *= 1.2
        doubled += sum(value != 1 for value in counts.values()) + (len(set(tickets)) != len(tickets))
        campaign = ap.Campaign.open(name, db=url)
        found = campaign.check()
        broken += not (found.ok and found.exact)
        after = campaign.split()
        campaign.record(after.ticket, {"a": outcome_of(after.ticket)})
    return {"kills": count, "acknowledged": acknowledged, "lost": lost, "doubled": doubled, "broken": broken}


def crowd(url, processes, rounds):
    name = "crowd"
    fresh(name, url)

    def watch(write):
        looks = 0
        while True:
            campaign = ap.Campaign.open(name, db=url)
            campaign.beliefs(), campaign.history(1, 50), campaign.open_tickets
            looks += 1
            write(f"look {looks}")
            time.sleep(0.01)

    watcher, seen = fork(watch)
    started = time.perf_counter()
    children = [fork(client(name, url, rounds)) for _ in range(processes)]
    output = [lines(reader) for _, reader in children]
    codes = [os.waitpid(pid, 0)[1] for pid, _ in children]
    seconds = time.perf_counter() - started
    os.kill(watcher, signal.SIGKILL)
    os.waitpid(watcher, 0)
    looks = lines(seen)
    counts, tickets = recorded_in(name, url)
    given = [int(line.split()[1]) for part in output for line in part if line.startswith("split")]
    recorded = [line for part in output for line in part if line.startswith("record")]
    campaign = ap.Campaign.open(name, db=url)
    found = campaign.check()
    reward = sum(outcome_of(int(line.split()[1])) for line in recorded)
    sums = campaign.status().returned
    errors = [line for part in [*output, looks] for line in part if line.startswith("error")]
    return {
        "codes": codes, "errors": errors, "given": sorted(given), "tickets": tickets, "seconds": seconds,
        "recorded": len(recorded), "kept": len(counts), "doubled": sum(value != 1 for value in counts.values()),
        "check": found.ok and found.exact, "looks": len(looks), "reward": reward, "sums": sums,
        "open": len(campaign.open_tickets),
    }  # fmt: skip


def births(url, processes):
    """Clients that all find no database and make it at the same moment."""
    begin = time.time() + 0.5

    def work(number):
        def born(write):
            import apportion.campaigns.campaign  # noqa: F401

            time.sleep(max(0.0, begin - time.time()))
            fresh(f"born {number}", url)
            ap.Campaign.open(f"born {number}", db=url).split()

        return born

    children = [fork(work(number)) for number in range(processes)]
    output = [line for _, reader in children for line in lines(reader)]
    for pid, _ in children:
        os.waitpid(pid, 0)
    return {"errors": output, "names": ap.Campaign.names(url)}


def interrupts(url, count):
    """SIGINT within writes of the main thread, with another thread that shares its commits."""
    name, rng, over = "interrupts", random.Random(5), threading.Event()
    fresh(name, url)
    campaign = ap.Campaign.open(name, db=url)
    acknowledged, errors, beside, state = [], [], [], {"armed": False, "came": 0}

    def interrupted(number, frame):
        if state["armed"]:  # once for each time that the client is ready for it
            state["armed"] = False
            state["came"] += 1
            raise KeyboardInterrupt

    def send():
        while not over.wait(rng.uniform(0.0005, 0.02)):
            os.kill(os.getpid(), signal.SIGINT)

    def record():
        mine = ap.Campaign.open(name, db=url)
        while not over.is_set():
            try:
                beside.append(mine.split().ticket)
            except Exception as error:
                errors.append(f"beside: {type(error).__name__}: {error}")

    signal.signal(signal.SIGINT, interrupted)
    threads = [threading.Thread(target=send), threading.Thread(target=record)]
    for thread in threads:
        thread.start()
    while state["came"] < count:
        try:
            state["armed"] = True
            for _ in range(20):
                split = campaign.split()
                acknowledged.append((split.ticket, None))
                first, *rest = (arm for arm in ARMS if split.amounts[arm] > 0)
                campaign.record(split.ticket, {first: outcome_of(split.ticket)})
                acknowledged.append((split.ticket, first))
                with campaign.together():
                    for arm in rest:
                        campaign.record(split.ticket, {arm: outcome_of(split.ticket)})
                acknowledged.extend((split.ticket, arm) for arm in rest)
        except KeyboardInterrupt:
            pass
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")
        state["armed"] = False
    over.set()
    for thread in threads:
        thread.join()
    counts, tickets = recorded_in(name, url)
    kept = {*counts, *((ticket, None) for ticket in tickets)}
    lost = len(({*acknowledged} | {(ticket, None) for ticket in beside}) - kept)
    found, ours = campaign.check(), campaign.state()
    campaign._store.shared.clear()
    return {
        "acknowledged": len(acknowledged), "beside": len(beside), "errors": errors, "lost": lost,
        "check": found.ok and found.exact, "alike": ap.Campaign.open(name, db=url).state() == ours,
        "tickets": tickets, "doubled": sum(value != 1 for value in counts.values()),
    }  # fmt: skip


def full(url, rounds):
    name = "full"
    fresh(name, url)
    campaign = ap.Campaign.open(name, db=url)
    done = 0
    largest = max(os.path.getsize(path) for path in (url, f"{url}-wal") if os.path.exists(path))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 200_000, resource.RLIM_INFINITY))
    sentence = ""
    try:
        for _ in range(rounds):
            campaign.split()
            done += 1
    except ap.ApportionError as error:
        sentence = str(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    after = campaign.split().ticket
    found = campaign.check()
    return {"done": done, "sentence": sentence, "after": after, "check": found.ok and found.exact}


if __name__ == "__main__":
    task, url, *numbers = sys.argv[1:]
    answer = {"kills": kills, "crowd": crowd, "full": full, "births": births, "interrupts": interrupts}[task](
        url, *map(int, numbers)
    )
    sys.stdout.write(json.dumps(answer))
