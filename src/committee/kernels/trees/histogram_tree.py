"""A whole tree on packed histograms in one call, for boosting.

Every row has one integer (g << 32) + h, so one addition per feature sums both. A node's histogram holds these sums
by feature and code; that of its smaller child is summed from the rows, that of the larger one is the difference. The
search of a feature is three short loops over at most 255 cuts, without branches, and rows are divided by a table of 256
entries, for numbers, missing values and categories.

Both sums of the whole table must fit 31 bits (the caller checks it), and every row of positive weight has h >= 1.
"""

from __future__ import annotations

import numpy as np

from committee.base.jit import inlined, kernel, part
from committee.kernels.exp_log import as_bits
from committee.kernels.trees.criteria import SQUARED, child_score, child_value
from committee.kernels.trees.histogram import AHEAD, TILE, WORDS, add_word, prefetch
from committee.kernels.trees.node import begin_children
from committee.kernels.trees.sampling import draw_swap, undo_draws
from committee.kernels.trees.subtree import pop, push
from committee.kernels.work_sharing import (
    CLAIMED,
    DONE,
    FIRST,
    FIRST_TILE,
    IDLE,
    LAST,
    LAST_TILE,
    LINE,
    POSTED,
    QUIT,
    SLOT,
    look,
    post,
    share,
    swap,
    wait_for_change,
)

COUNTED = 8
"""Nodes with fewer rows than this number of smallest leaves are searched with counts from the start."""

SHARED_CELLS = 200_000
"""Rows times features of a node above which assistants take part in its sums."""

HALF = 32
LOW = np.int64(0xFFFFFFFF)
REJECTED = -1.0
NO_GROUP = np.uint64(0)
NO_SLOT = np.int64(-1)
TWO_OVER_PI = 2.0 / np.pi
MIN_REST = 0.01
FEW_CATEGORIES = 4  # up to this number an order by chance is harmless


@inlined
def add_rows(n_words, tile, base, rows, amounts, is_ordered, sums_out):
    """Add the amounts of `rows` to the bins of the first n_words words of a tile (a constant where it is inlined).

    amounts are in the order of `rows`, or, not is_ordered, at the place of the row.
    """
    n = np.uintp(rows.size)
    last = n - np.uintp(1)
    for i in range(n):
        row = np.uintp(rows[i])
        ahead = np.uintp(rows[min(i + np.uintp(AHEAD), last)])
        prefetch(tile, ahead * np.uintp(WORDS))
        if is_ordered:
            amount = amounts[i]
        else:
            prefetch(amounts, ahead)
            amount = amounts[row]
        for w in range(np.uintp(n_words)):
            add_word(sums_out, base + w * np.uintp(1024), tile[row, w], amount)


@part
def add_tile(n_words, tile, base, rows, amounts, is_ordered, sums_out):
    """`add_rows` with a constant number of words."""
    if n_words == 8:
        add_rows(8, tile, base, rows, amounts, is_ordered, sums_out)
    elif n_words == 7:
        add_rows(7, tile, base, rows, amounts, is_ordered, sums_out)
    elif n_words == 6:
        add_rows(6, tile, base, rows, amounts, is_ordered, sums_out)
    elif n_words == 5:
        add_rows(5, tile, base, rows, amounts, is_ordered, sums_out)
    elif n_words == 4:
        add_rows(4, tile, base, rows, amounts, is_ordered, sums_out)
    else:
        add_rows(n_words, tile, base, rows, amounts, is_ordered, sums_out)


@part
def clear(sums_out):
    for j in range(sums_out.size):
        sums_out[j] = 0


@part
def sum_rows(words, n_features, tiles, rows, amounts, ordered, sums_out):
    """Add the amounts of `rows` by feature and code to sums_out [features * 256], for tiles[0]:tiles[1].

    ordered [n] is scratch, used where there are several tiles.
    """
    is_ordered = tiles[1] - tiles[0] > 1
    if is_ordered:
        for i in range(rows.size):
            ordered[i] = amounts[rows[i]]
    for t in range(tiles[0], tiles[1]):
        n_words = min(WORDS, (n_features - t * TILE + 3) // 4)
        base = np.uintp(t * TILE * 256)
        if is_ordered:
            add_tile(n_words, words[t], base, rows, ordered, True, sums_out)
        else:
            add_tile(n_words, words[t], base, rows, amounts, False, sums_out)


@part
def sum_together(sample, first, last, ordered, team, pool, slot):
    """Overwrite pool[slot] with the sums of sample.rows[first:last]; for many rows, with the help of assistants.

    They take tiles, which lie apart in the histogram, or where there are few of these rows, into histograms of their
    own. What no assistant has begun is done here.
    """
    words, rows, amounts, n_features = sample.words, sample.rows, sample.amounts, sample.records.size
    sums = pool[slot]
    clear(sums)
    n_tiles = words.shape[0]
    n_shares = 1
    if (last - first) * n_features >= SHARED_CELLS:
        n_shares += team.board.shape[0]
    by_tiles = n_tiles >= 2 * n_shares
    for j in range(n_shares - 1, -1, -1):  # the grower's own part last
        a, b, t, u = first, last, np.int64(0), n_tiles
        if by_tiles:
            t, u = share(n_tiles, n_shares, j), share(n_tiles, n_shares, j + 1)
        else:
            a, b = first + share(last - first, n_shares, j), first + share(last - first, n_shares, j + 1)
        if j > 0:
            line = team.board[j - 1]
            line[FIRST], line[LAST], line[FIRST_TILE], line[LAST_TILE] = a, b, t, u
            line[SLOT] = slot if by_tiles else NO_SLOT
            post(team.board, (j - 1) * LINE, POSTED)
        else:
            sum_rows(words, n_features, (t, u), rows[a:b], amounts, ordered, sums)
    for j in range(1, n_shares):
        place = (j - 1) * LINE
        if swap(team.board, place, POSTED, IDLE) == 1:
            line = team.board[j - 1]
            members = rows[line[FIRST] : line[LAST]]
            sum_rows(words, n_features, (line[FIRST_TILE], line[LAST_TILE]), members, amounts, ordered, sums)
            continue
        wait_for_change(team.board, place, CLAIMED)
        if not by_tiles:
            for i in range(sums.size):
                sums[i] += team.sums[j - 1, i]
        post(team.board, place, IDLE)


@kernel
def assist(sample, ordered, pool, team, j):
    """Sum the rows that the grower of a tree posts to assistant j, until QUIT."""
    place = j * LINE
    state = look(team.board, place)
    while state != QUIT:
        if state == POSTED and swap(team.board, place, POSTED, CLAIMED) == 1:
            line = team.board[j]
            members = sample.rows[line[FIRST] : line[LAST]]
            sums = pool[max(line[SLOT], 0)]
            if line[SLOT] == NO_SLOT:
                sums = team.sums[j]
                clear(sums)
            tiles = line[FIRST_TILE], line[LAST_TILE]
            sum_rows(sample.words, sample.records.size, tiles, members, sample.amounts, ordered, sums)
            post(team.board, place, DONE)
            state = DONE
        else:
            state = wait_for_change(team.board, place, state)


@part
def category_value(amount, smoothing):
    """g / (h + smoothing) of a packed sum."""
    h = amount & LOW
    return np.float64((amount - h) >> HALF) / (np.float64(h) + smoothing)


@part
def order_by_value(n_codes, sums, smoothing, least, value, order_out):
    """Categories of at least `least` of h in ascending order of g / (h + smoothing) (Fisher); return how many.

    Overwrites value.
    """
    n_places = 0
    for c in range(n_codes):
        amount = sums[c]
        h = amount & LOW
        if h >= least:
            value[c] = category_value(amount, smoothing)
            j = n_places - 1  # insertion: equal values keep the order of their codes
            while j >= 0 and value[order_out[j]] > value[c]:
                order_out[j + 1] = order_out[j]
                j -= 1
            order_out[j + 1] = c
            n_places += 1
    return n_places


@part
def running_sums(n_cuts, source, order, is_ordered, first, running_out):
    """Sums left of each cut, `first` (missing rows that go left) included."""
    total = first
    if is_ordered:
        for b in range(n_cuts):
            total += source[order[b]]
            running_out[b] = total
    else:
        for b in range(n_cuts):
            total += source[b]
            running_out[b] = total


@part
def score_decreases(l2, own, least, node, rules, sums, decrease_out):
    """The decrease of the loss by every cut, REJECTED if a child is too light; return the maximum, as bits.

    One loop without branches for each form of the criterion. Decreases are compared as integers: the bits of float64
    numbers from zero on have their order, those of REJECTED are smaller, and integers have a maximum in vector code.
    """
    n_cuts = np.uintp(sums.size)
    g_unit, h_unit, l1, criterion = rules.g_unit, rules.h_unit, rules.l1, rules.criterion
    g_all = node.g * g_unit
    h_all = node.h * h_unit
    lightest = least * h_unit
    heaviest = (node.h - least) * h_unit
    largest = as_bits(REJECTED)
    if criterion == SQUARED and l1 == 0.0 and l2 == 0.0:
        mean = g_all / h_all
        for b in range(n_cuts):
            h = np.int32(sums[b] & LOW) * h_unit
            centred = np.int32(sums[b] >> HALF) * g_unit - mean * h
            decrease = centred * centred * (h_all / (h * (h_all - h)))
            decrease = decrease if (h >= lightest) & (h <= heaviest) else REJECTED
            decrease_out[b] = decrease
            largest = max(largest, as_bits(decrease))
    elif criterion == SQUARED and l1 == 0.0:
        for b in range(n_cuts):
            h = np.int32(sums[b] & LOW) * h_unit
            g = np.int32(sums[b] >> HALF) * g_unit
            left = h + l2
            right = h_all - h + l2
            rest = g_all - g
            decrease = max((g * g * right + rest * rest * left) / (left * right) - own, 0.0)
            decrease = decrease if (h >= lightest) & (h <= heaviest) else REJECTED
            decrease_out[b] = decrease
            largest = max(largest, as_bits(decrease))
    else:
        for b in range(n_cuts):
            h = np.int32(sums[b] & LOW) * h_unit
            g = np.int32(sums[b] >> HALF) * g_unit
            children = child_score(criterion, g, h, l1, l2) + child_score(criterion, g_all - g, h_all - h, l1, l2)
            decrease = max(children - own, 0.0)
            decrease = decrease if (h >= lightest) & (h <= heaviest) else REJECTED
            decrease_out[b] = decrease
            largest = max(largest, as_bits(decrease))
    return largest


@part
def counted_range(n_cuts, count, least, source, order, is_ordered, first):
    """The cuts b, from:to, with at least `least` of `count` rows on either side; `first` missing rows go left."""
    total = first
    begin = end = 0
    for b in range(n_cuts):
        total += source[order[b]] if is_ordered else source[b]
        begin += total < least
        end += total <= count - least
    return begin, max(begin, end)


@part
def reject_unordered(monotone, node, rules, sums, decrease):
    """Overwrite the decreases of cuts that violate a monotone constraint; return the remaining maximum, as bits."""
    largest = as_bits(REJECTED)
    for b in range(sums.size):
        g = sums[b] >> HALF
        h = sums[b] & LOW
        left = child_value(g, h, rules)
        right = child_value(node.g - g, node.h - h, rules)
        inside = min(left, right) >= node.lower and max(left, right) <= node.upper
        if not inside or (left - right) * monotone > 0.0:
            decrease[b] = REJECTED
        largest = max(largest, as_bits(decrease[b]))
    return largest


@part
def space_cuts(least, sums, decrease):
    """Reject cuts that follow the last allowed one by less than `least` of h."""
    last = np.int64(0)
    for b in range(sums.size):
        h = sums[b] & LOW
        if h - last >= least:
            last = h
        else:
            decrease[b] = REJECTED


@part
def charge_for_order(begin, n_places, sums, order, rules, decrease):
    """Subtract the gain expected by chance from the order of categories; return the remaining maximum, as bits.

    If the sums g of the categories are noise of variance noise * h, the order by g / h fits that noise: a cut with the
    fraction p of S = sum of sqrt(h) on its left has an expected gain of noise * S^2 / H * phi(z)^2 / (p (1 - p)), where
    z is the normal quantile of p and phi the normal density. S^2 / H is the number of categories if all have the same
    weight, and phi(z) is 0.4 (4 p (1 - p))^0.85 to within 5 %, so this is about

        (2 / pi) * noise * S^2 / H * (4 p (1 - p))^(3/4)

    A hundredth of the gain is kept in any case, for interactions of columns without gains of their own. Cuts between
    categories of equal value are rejected, as they would depend on the codes.
    """
    roots, total = 0.0, 0.0
    for j in range(n_places):
        h = np.float64(sums[order[j]] & LOW)
        roots += np.sqrt(h)
        total += h
    most = TWO_OVER_PI * rules.category_noise * roots * roots / total
    smoothing = rules.category_smoothing / rules.h_unit
    largest = as_bits(REJECTED)
    left = 0.0
    for b in range(begin + decrease.size):
        amount = sums[order[b]]
        left += np.sqrt(np.float64(amount & LOW))
        if b < begin:
            continue
        p = left / roots
        root = np.sqrt(max(4.0 * p * (1.0 - p), 0.0))
        rest = max(decrease[b - begin] - most * root * np.sqrt(root), MIN_REST * decrease[b - begin])
        following = sums[order[min(b + 1, n_places - 1)]]
        is_tied = b + 1 < n_places and category_value(amount, smoothing) == category_value(following, smoothing)
        decrease[b - begin] = REJECTED if is_tied or rest < 0.0 else rest
        largest = max(largest, as_bits(decrease[b - begin]))
    return largest


@part
def search_code(f, feature, has_counts, node, rules, histogram, counts, work):
    """Search one feature of the node; a cut with a larger decrease than node.score is written into the record."""
    base = f * 256
    n_codes = feature.n_bins
    source = histogram[base : base + 256]
    is_set = feature.is_categorical == 1
    n_places = n_codes
    l2, own = rules.l2, node.own
    least = max(rules.min_weight_leaf, rules.min_samples_leaf if rules.unit_weights else 1)
    is_spaced = False
    if is_set:
        smoothing, rare = rules.category_smoothing, np.int64(1)
        if n_codes > FEW_CATEGORIES:  # the means of categories of fewer rows than the smoothing are noise
            rare = max(np.int64(smoothing * node.h / node.count), rare)
        n_places = order_by_value(n_codes, source, smoothing / rules.h_unit, rare, work.decrease, work.order)
        if rules.category_smoothing > 0.0 and n_places > FEW_CATEGORIES:
            # The order depends on the targets, so more is required of a split along it.
            l2 += rules.category_smoothing
            own = child_score(rules.criterion, node.g * rules.g_unit, node.h * rules.h_unit, rules.l1, l2)
            least = max(least, np.int64(rules.category_rows * node.h / node.count))
            is_spaced = True
    missing = source[n_codes]
    for missing_left in range(2 if missing != 0 else 1):
        # All present left and missing right is a cut; all present left and missing left is none.
        n_cuts = n_places - 1 + np.int64(missing != 0 and missing_left == 0)
        if n_cuts < 1:
            continue
        begin, end = 0, n_cuts
        if has_counts:
            count = counts[base : base + 256]
            first = count[n_codes] if missing_left == 1 else 0
            begin, end = counted_range(n_cuts, node.count, rules.min_samples_leaf, count, work.order, is_set, first)
        if begin == end:
            continue
        running_sums(end, source, work.order, is_set, missing if missing_left == 1 else 0, work.sums)
        sums, decrease = work.sums[begin:end], work.decrease[begin:end]
        largest = score_decreases(l2, own, least, node, rules, sums, decrease)
        if is_spaced:
            space_cuts(least, sums, decrease)
            largest = charge_for_order(begin, n_places, source, work.order, rules, decrease)
        if rules.is_monotone:
            largest = reject_unordered(feature.monotone, node, rules, sums, decrease)
        if largest > as_bits(node.score):
            b = begin
            while as_bits(work.decrease[b]) != largest:
                b += 1
            amount = work.sums[b]
            node.score = work.decrease[b]
            node.feature = f
            node.code = b
            node.missing_left = missing_left
            node.left_sum = amount
            node.is_set = is_set
            node.split_l2 = l2 - rules.l2
            if is_set:
                write_prefix(b, work.order, node.set)


@part
def write_prefix(last, order, bits_out):
    """Write the first last + 1 categories in `order` as a bitset."""
    for word in range(4):
        bits_out[word] = np.uint64(0)
    for j in range(last + 1):
        c = order[j]
        bits_out[c >> 6] |= np.uint64(1) << np.uint64(c & 63)


@part
def search_histogram_node(features, has_counts, node, rules, records, histogram, counts, work):
    """Write the best split of a node to its record; `features` are drawn from and restored."""
    node.score = REJECTED
    node.feature = -1
    node.gain = 0.0
    node.own = 0.0
    node.threshold = np.nan
    if rules.criterion != SQUARED or rules.l1 != 0.0 or rules.l2 != 0.0:
        node.own = child_score(rules.criterion, node.g * rules.g_unit, node.h * rules.h_unit, rules.l1, rules.l2)
    is_drawn = rules.max_features < features.size
    n_seen = 0
    while n_seen < min(rules.max_features, features.size):
        if is_drawn:
            draw_swap(features, node.key, n_seen)
        f = features[n_seen]
        n_seen += 1
        if records[f].groups & node.groups != NO_GROUP:
            search_code(f, records[f], has_counts, node, rules, histogram, counts, work)
    if is_drawn:
        undo_draws(features, node.key, n_seen)
    if node.feature >= 0:
        node.gain = rules.gain_unit * node.score / rules.total_weight
        if node.gain < rules.min_gain:
            node.feature = -1
    return node.feature >= 0


@part
def search_node(is_counted, features, sample, node, rules, histogram, counts, work):
    """Write the best split of the node to its record; is_counted, one that leaves enough rows on either side."""
    if is_counted:
        words, members = sample.words, sample.rows[node.start : node.start + node.n]
        clear(counts)
        sum_rows(words, sample.records.size, (0, words.shape[0]), members, work.ones, work.ordered, counts)
    return search_histogram_node(features, is_counted, node, rules, sample.records, histogram, counts, work)


@part
def may_split(node, rules):
    """Whether the limits let the node be split; of two classes, it must have rows of both."""
    if rules.n_classes == 2 and abs(node.g) == node.h:
        return False
    enough = node.count >= max(rules.min_samples_split, 2 * rules.min_samples_leaf, 2)
    return node.depth < rules.max_depth and enough and node.h >= 2 * rules.min_weight_leaf


@part
def write_sides(node, feature, histogram, side_out):
    """Write which codes go left to side_out[256]. The cut moves to the middle of the codes that no row of the node has.

    Then it is the edge of a bin, and codes and values divide other rows of the table in the same way. A category that
    no row of the node has follows missing values, or without any the child of larger weight.

    A code whose sums are zero may still have rows, which only count. If counting them rejected the split a second time,
    they stay where the search counted them: right of the cut, as all codes that are not marked as left.
    """
    n_codes = feature.n_bins
    base = node.feature * 256
    is_literal = node.n_rejected > 1
    if histogram[base + n_codes] == 0 and not is_literal:
        left_h = node.left_sum & LOW
        node.missing_left = 2 * left_h > node.h
    last, first = -1, -1
    if node.is_set == 0:
        for c in range(n_codes):
            if histogram[base + c] != 0:
                if c <= node.code:
                    last = c
                elif first < 0:
                    first = c
        if is_literal:
            last = node.code
            first = last + 1 if last + 1 < n_codes else -1
        elif last >= 0 and first >= 0:
            node.code = last = (last + first - 1) // 2
            first = last + 1
        elif last < 0:  # only missing values on the left
            node.code = -1
        else:
            node.code = n_codes - 1
    node.last_left, node.first_right = last, first
    if node.is_set == 1 and node.missing_left == 1:
        for c in range(256):
            if c >= n_codes or (histogram[base + c] == 0 and not is_literal):
                node.set[c >> 6] |= np.uint64(1) << np.uint64(c & 63)
    for c in range(n_codes):
        left = c <= node.code
        if node.is_set == 1:
            left = (node.set[c >> 6] >> np.uint64(c & 63)) & np.uint64(1) == np.uint64(1)
        side_out[c] = left
    for c in range(n_codes, 256):
        side_out[c] = node.missing_left


@part
def part_rows(rows, column, side, spare):
    """Stable partition of rows by side[code]; return how many go left. Branch-free: write both, advance one."""
    n_left = np.uintp(0)
    n_right = np.uintp(0)
    for i in range(np.uintp(rows.size)):
        row = rows[i]
        left = np.uintp(side[column[row]])
        rows[n_left] = row
        spare[n_right] = row
        n_left += left
        n_right += np.uintp(1) - left
    for i in range(n_right):
        rows[n_left + i] = spare[i]
    return np.int64(n_left)


@part
def restore_order(rows, n_left, spare):
    """Undo a `part_rows`: merge the two ascending parts, the right one of which is also in `spare`."""
    i = n_left - 1
    j = rows.size - n_left - 1
    while j >= 0:
        if i >= 0 and rows[i] > spare[j]:
            rows[i + j + 1] = rows[i]
            i -= 1
        else:
            rows[i + j + 1] = spare[j]
            j -= 1


@part
def count_rows(rows, rules, h, ones):
    """Number of rows, with an integer weight w counted as w rows."""
    if rules.unit_weights == 1:
        return h
    if rules.whole_weights == 0 or ones.size == 0:
        return rows.size
    count = np.int64(0)
    for i in range(rows.size):
        count += ones[rows[i]]
    return count


@part
def take_sums(node, rules, left, right):
    """Compute the sums of the children, and the bound that a monotone constraint puts between them."""
    h = node.left_sum & LOW
    left.h = h
    left.g = (node.left_sum - h) >> HALF
    right.h = node.h - left.h
    right.g = node.g - left.g
    node.middle = 0.5 * (child_value(left.g, left.h, rules) + child_value(right.g, right.h, rules))


@kernel
def grow_on_histograms(rules_1, features, sample, nodes, pool, work, team):
    """Grow the tree of a `PackedSample` from nodes[0], which holds its bounds, depth and key; return how many nodes.

    pool [leaves + 1, features * 256] has a histogram for every open leaf, and one for counts. Modified in
    place: rows (those of every node end up contiguous), nodes, pool, work.
    """
    rules = rules_1[0]
    codes, records, rows = sample.codes, sample.records, sample.rows
    counts = pool[pool.shape[0] - 1]
    # Under weights the sums of h are no counts. A split is then tried without, and counted when it is taken.
    needs_count = rules.min_samples_leaf > 1 and rules.unit_weights == 0
    few = COUNTED * rules.min_samples_leaf
    root = nodes[0]
    root.n = rows.size
    sum_together(sample, 0, rows.size, work.ordered, team, pool, 0)
    total = np.int64(0)
    for c in range(256):
        total += pool[0, c]
    root.h = total & LOW
    root.g = (total - root.h) >> HALF
    root.count = count_rows(rows, rules, root.h, work.ones)
    work.slot[0] = 0
    n_slots = 1
    n_frontier = 0
    n_nodes = 1
    n_splits = 0
    is_counted = needs_count and root.count < few
    if may_split(root, rules) and search_node(is_counted, features, sample, root, rules, pool[0], counts, work):
        work.frontier[0] = 0
        n_frontier = 1
    while n_frontier > 0 and n_splits < rules.max_splits:
        # Step 1: take the split of largest gain
        i = pop(work.frontier, n_frontier, True, nodes)
        n_frontier -= 1
        node = nodes[i]
        slot = work.slot[i]
        f = node.feature
        members = rows[node.start : node.start + node.n]
        write_sides(node, records[f], pool[slot], work.side)
        n_left = part_rows(members, codes[f], work.side, work.spare)
        count = count_rows(members[:n_left], rules, node.left_sum & LOW, work.ones)
        if needs_count and min(count, node.count - count) < rules.min_samples_leaf:
            # Too few rows on one side: search again with counts; the node waits for its turn with a smaller gain.
            restore_order(members, n_left, work.spare)
            node.n_rejected += 1
            if node.n_rejected > 2:
                continue  # impossible, but the loop must end
            if search_node(True, features, sample, node, rules, pool[slot], counts, work):
                push(work.frontier, n_frontier, i, True, nodes)
                n_frontier += 1
            continue
        left = nodes[n_nodes]
        right = nodes[n_nodes + 1]
        take_sums(node, rules, left, right)
        begin_children(node, n_left, records[f], left, right)
        left.extra_l2 = right.extra_l2 = node.split_l2
        left.count = count
        right.count = node.count - count
        node.left = n_nodes
        first = n_nodes
        n_nodes += 2
        n_splits += 1
        # Step 2: search the children
        if n_splits == rules.max_splits:
            break
        opens_left = may_split(left, rules)
        opens_right = may_split(right, rules)
        if not opens_left and not opens_right:
            continue
        small = first if left.n <= right.n else first + 1
        large = 2 * first + 1 - small
        fewer = nodes[small]
        sum_together(sample, fewer.start, fewer.start + fewer.n, work.ordered, team, pool, n_slots)
        for j in range(pool.shape[1]):
            pool[slot, j] -= pool[n_slots, j]
        work.slot[large] = slot
        work.slot[small] = n_slots
        n_slots += 1
        for child in range(first, first + 2):
            opens = opens_left if child == first else opens_right
            is_counted = needs_count and nodes[child].count < few
            histogram = pool[work.slot[child]]
            if opens and search_node(is_counted, features, sample, nodes[child], rules, histogram, counts, work):
                push(work.frontier, n_frontier, child, True, nodes)
                n_frontier += 1
    for j in range(team.board.shape[0]):
        post(team.board, j * LINE, QUIT)
    return n_nodes
