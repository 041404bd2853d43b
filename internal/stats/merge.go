package stats

// Merge puts the figures of several runs of one lock together, as if they had been
// one run: what counts is added, and the rate is that of all episodes.
func Merge(all []Figures) Figures {
	var sum Figures
	byOp, byPhase := map[string][]Latency{}, map[string][]Latency{}
	var overlaps []Latency
	for _, f := range all {
		sum.Episodes += f.Episodes
		sum.ViolatingEpisodes += f.ViolatingEpisodes
		sum.Unordered.Promotions += f.Unordered.Promotions
		sum.Unordered.Episodes += f.Unordered.Episodes
		sum.Unordered.ViolatingEpisodes += f.Unordered.ViolatingEpisodes
		if f.FirstViolationS != nil && (sum.FirstViolationS == nil || *f.FirstViolationS < *sum.FirstViolationS) {
			first := *f.FirstViolationS
			sum.FirstViolationS = &first
		}
		sum.ViolationAfterS = append(sum.ViolationAfterS, f.ViolationAfterS...)
		sum.Acquires.OK += f.Acquires.OK
		sum.Acquires.Fail += f.Acquires.Fail
		sum.Acquires.Info += f.Acquires.Info
		sum.Writes += f.Writes
		sum.LostUpdates += f.LostUpdates
		sum.OutageS = max(sum.OutageS, f.OutageS)
		sum.ActiveS += f.ActiveS
		for name, l := range f.LatencyMS {
			byOp[name] = append(byOp[name], l)
		}
		for name, l := range f.AcquireMS {
			byPhase[name] = append(byPhase[name], l)
		}
		if f.OverlapMS != nil {
			overlaps = append(overlaps, *f.OverlapMS)
		}
	}
	sum.Rate = RateOf(sum.Counted())
	if sum.ActiveS > 0 {
		sum.GrantsPerSecond = float64(sum.Acquires.OK) / sum.ActiveS
	}
	if sum.Writes > 0 {
		sum.LostPerThousand = 1000 * float64(sum.LostUpdates) / float64(sum.Writes)
	}
	sum.LatencyMS, sum.AcquireMS = mergeEach(byOp), mergeEach(byPhase)
	if l, ok := MergeLatency(overlaps); ok {
		sum.OverlapMS = &l
	}
	return sum
}

// mergeEach leaves out what cannot be put together.
func mergeEach(byName map[string][]Latency) map[string]Latency {
	var out map[string]Latency
	for name, all := range byName {
		if l, ok := MergeLatency(all); ok {
			if out == nil {
				out = map[string]Latency{}
			}
			out[name] = l
		}
	}
	return out
}
