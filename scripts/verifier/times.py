"""When a plan's commands run, and what follows from that (docs/formats/plan.md, "Times")."""

import heapq

from verifier.problem import moving_ns
from verifier.reading import INT_MAX, Record


def simulate(problem, plan):
    """Start and end of each command in nanoseconds."""
    links, commands = problem.machine.links, plan.commands
    missing, waiters, following = [0] * len(commands), [[] for _ in commands], [None] * len(commands)
    last = {}
    for i, c in enumerate(commands):
        missing[i] = len(c.waits) + (c.stream in last)
        for wait in c.waits:
            waiters[wait].append(i)
        if c.stream in last:
            following[last[c.stream]] = i
        last[c.stream] = i
    starts, ends, events = [0] * len(commands), [0] * len(commands), []
    lanes = [Record(active=[], served=0.0, rate=0.0, updated=0, version=0) for _ in range(2 * len(links))]
    done, join, drained = range(3)

    def start(i, now):
        starts[i] = now
        c = commands[i]
        ns = problem.costs[c.op][plan.device_of[c.op]] if c.link is None else links[c.link].latency
        heapq.heappush(events, (min(now + ns, INT_MAX), done if c.link is None else join, i, 0))

    def advance(link, now):
        for member in problem.machine.group_of.get(link, [link]):
            for lane in lanes[2 * member:2 * member + 2]:
                lane.served += lane.rate * 1e-9 * float(now - lane.updated)
                lane.updated = now

    def both_of(link):
        return all(lane.active for lane in lanes[2 * link:2 * link + 2])

    def share(link, now):
        group = problem.machine.group_of.get(link, [link])
        if len(group) == 1:
            for k, lane in enumerate(lanes[2 * link:2 * link + 2]):
                if lane.active:
                    lane.rate = rate_of(links[link], k, both_of(link)) / float(len(lane.active))
        else:
            share_trunk(group)
        for index in (2 * member + k for member in group for k in range(2)):
            lane = lanes[index]
            if lane.active:
                lane.version += 1
                ns = moving_ns(lane.active[0][0] - lane.served, lane.rate)
                heapq.heappush(events, (min(now + ns, INT_MAX), drained, index, lane.version))

    def share_trunk(group):
        trunk, shares = next(m for m in group if links[m].trunk is None), ([], [])
        for member in group:
            for k, lane in enumerate(lanes[2 * member:2 * member + 2]):
                if lane.active:
                    most = rate_of(links[member], k, both_of(member)) / float(len(lane.active))
                    way = k if member == trunk else way_of(links[member], links[trunk], k)
                    shares[way].append((most, 2 * member + k, lane))
        for k, sharing in enumerate(shares):
            left = rate_of(links[trunk], k, all(shares))
            copies = float(sum(len(lane.active) for _, _, lane in sharing))
            for most, _, lane in sorted(sharing, key=lambda share: share[:2]):
                lane.rate = min(most, left / copies)
                left -= lane.rate * float(len(lane.active))
                copies -= float(len(lane.active))

    def finish(i, now):
        ends[i] = now
        for waiter in ([] if following[i] is None else [following[i]]) + waiters[i]:
            missing[waiter] -= 1
            if missing[waiter] == 0:
                event = 0
                if commands[i].stream != commands[waiter].stream:
                    both = (commands[i].link, commands[waiter].link)
                    event = max([links[link].event for link in both if link is not None], default=0)
                start(waiter, min(now + event, INT_MAX))

    for i in range(len(commands)):
        if missing[i] == 0:
            start(i, 0)
    while events:
        now, kind, i, version = heapq.heappop(events)
        if kind == done:
            finish(i, now)
        elif kind == join:
            source, link = plan.residencies[commands[i].reads[0]], commands[i].link
            advance(link, now)
            lane = lanes[2 * link + (source.memory != links[link].a)]
            heapq.heappush(lane.active, (lane.served + float(problem.graph.tensors[source.tensor].bytes), i))
            share(link, now)
        elif version == lanes[i].version:
            advance(i // 2, now)
            lane = lanes[i]
            _, copy = heapq.heappop(lane.active)
            if not lane.active:
                lane.served = lane.rate = 0.0
                lane.version += 1
            share(i // 2, now)
            finish(copy, now)
    return starts, ends


def rate_of(link, way, both):
    """Of one direction of a link alone, 0 from a to b; `both`: the other one is busy too."""
    rate = link.rate if way == 0 or link.reverse is None else link.reverse
    if not both:
        return rate
    if link.reverse is None:
        return min(rate, link.duplex / 2)
    return min(rate, link.duplex * (rate / (link.rate + link.reverse)))


def way_of(link, trunk, way):
    """The direction of its trunk that a direction of a link uses."""
    common = link.a if link.a in (trunk.a, trunk.b) else link.b
    leaves = (link.a if way == 0 else link.b) == common
    return 0 if leaves == (trunk.a == common) else 1


def proven_ns(problem, plan):
    """A time that no plan with this placement beats: the longest chain of operators, and the busiest device's work."""
    times = [problem.costs[op][device] for op, device in enumerate(plan.device_of)]
    ends, work = [0] * len(times), {}
    for op in problem.graph.order:
        ends[op] = times[op] + max((ends[earlier] for earlier in problem.graph.before[op]), default=0)
        load = (plan.device_of[op], problem.graph.operators[op].communicates)
        work[load] = work.get(load, 0) + times[op]
    return max([*ends, *work.values()], default=0)


def figures_of(problem, plan, times):
    """Makespan, bytes copied from and to the host's memory, and launches that repeat one."""
    into = out = 0
    for c in plan.commands:
        if c.link is not None:
            source, target = plan.residencies[c.reads[0]], plan.residencies[c.writes[0]]
            size = problem.graph.tensors[source.tensor].bytes
            into, out = into + size * (source.memory == 0), out + size * (target.memory == 0)
    launches = sum(c.op is not None for c in plan.commands)
    return {"makespanNs": max(times[1], default=0), "bytesSwappedIn": min(into, INT_MAX),
            "bytesSwappedOut": min(out, INT_MAX), "computedAgain": launches - len(problem.graph.operators)}
