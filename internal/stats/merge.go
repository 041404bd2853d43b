package stats

// Merge combines the figures of several runs of one lock. Counts are added, the rate is
// that of all episodes, and outages and latencies are the largest of any run.
func Merge(all []Figures) Figures {
	var sum Figures
	for _, f := range all {
		sum.Episodes += f.Episodes
		sum.ViolatingEpisodes += f.ViolatingEpisodes
		sum.Uncounted += f.Uncounted
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
		sum.LatencyMS, sum.AcquireMS = mergeEach(sum.LatencyMS, f.LatencyMS), mergeEach(sum.AcquireMS, f.AcquireMS)
		if l := f.OverlapMS; l != nil {
			merged := *l
			if sum.OverlapMS != nil {
				merged = mergeLatency(*sum.OverlapMS, *l)
			}
			sum.OverlapMS = &merged
		}
	}
	sum.Rate = RateOf(sum.Counted())
	if sum.ActiveS > 0 {
		sum.GrantsPerSecond = float64(sum.Acquires.OK) / sum.ActiveS
	}
	if sum.Writes > 0 {
		sum.LostPerThousand = 1000 * float64(sum.LostUpdates) / float64(sum.Writes)
	}
	return sum
}

// mergeEach adds the latencies of one run to those of others.
func mergeEach(sum, run map[string]Latency) map[string]Latency {
	for name, l := range run {
		if before, ok := sum[name]; ok {
			l = mergeLatency(before, l)
		}
		if sum == nil {
			sum = map[string]Latency{}
		}
		sum[name] = l
	}
	return sum
}
