package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
)

// slice is what one proxy did in one slice of time.
type slice struct {
	reference bool    // what the others are compared with
	proxy     string  // its name
	cost      float64 // CPU microseconds for each request
	user      float64 // those of them that were spent in user space
	requests  float64
	rate      float64 // requests a second
	errors    int64
	p99       float64 // of the latency, in microseconds; 0 where it was not measured
}

// series are the slices of one row in one setup, in the order in which they were
// taken: a reference slice stands before and after each other one.
type series struct {
	setup, row string
	slices     []slice
}

// table reads slices and writes a Markdown table for each setup.
func table(file string, out io.Writer) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	all, err := read(f)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	setup := ""
	for _, s := range all {
		if s.setup != setup {
			setup = s.setup
			fmt.Fprintf(out, "\n**%s**\n\n", setup)
			fmt.Fprintln(out, "| what | proxy | CPU µs/request: median | lower quartile | spread | of it user, mean | ratio to adjacent slices: median | spread | ratio of lower quartiles | p99 µs | ratio | requests/s | errors | slices |")
			fmt.Fprintln(out, "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
		}
		s.write(out)
	}
	return nil
}

func read(in io.Reader) (all []*series, err error) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var setup, row, role string
		var one slice
		var micros, user, seconds float64
		if _, err := fmt.Sscan(lines.Text(), &setup, &row, &role, &one.proxy, &micros, &user, &one.requests, &one.errors, &seconds, &one.p99); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		if one.requests == 0 {
			return nil, fmt.Errorf("%q: no request was answered", lines.Text())
		}
		one.reference = role == "reference"
		one.cost, one.user, one.rate = micros/one.requests, user/one.requests, one.requests/seconds
		at := slices.IndexFunc(all, func(s *series) bool { return s.setup == setup && s.row == row })
		if at < 0 {
			at = len(all)
			all = append(all, &series{setup: setup, row: row})
		}
		all[at].slices = append(all[at].slices, one)
	}
	return all, lines.Err()
}

// write writes a line for each proxy of the series, in the order of appearance.
func (s *series) write(out io.Writer) {
	var names []string
	costs, ratios, rates, errors := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}, map[string]int64{}
	users, requests := map[string]float64{}, map[string]float64{} // sums: a slice has few ticks
	p99s, p99ratios := map[string][]float64{}, map[string][]float64{}
	references := map[string]string{} // whom a proxy is compared with
	reference := ""
	for i, one := range s.slices {
		if costs[one.proxy] == nil {
			names = append(names, one.proxy)
		}
		costs[one.proxy] = append(costs[one.proxy], one.cost)
		users[one.proxy] += one.user * one.requests
		requests[one.proxy] += one.requests
		rates[one.proxy] = append(rates[one.proxy], one.rate)
		errors[one.proxy] += one.errors
		p99s[one.proxy] = append(p99s[one.proxy], one.p99)
		if one.reference {
			reference = one.proxy
			continue
		}
		references[one.proxy] = reference
		if beside := s.beside(i, func(o slice) float64 { return o.cost }); beside > 0 {
			ratios[one.proxy] = append(ratios[one.proxy], one.cost/beside)
		}
		if beside := s.beside(i, func(o slice) float64 { return o.p99 }); beside > 0 {
			p99ratios[one.proxy] = append(p99ratios[one.proxy], one.p99/beside)
		}
	}
	for _, name := range names {
		ratio := "1 | – | 1"
		if r := ratios[name]; len(r) > 0 {
			ratio = fmt.Sprintf("**%.2f** | %.2f–%.2f | %.2f", quantile(r, 0.5), slices.Min(r), slices.Max(r),
				quantile(costs[name], 0.25)/quantile(costs[references[name]], 0.25))
		}
		late, lateRatio := "–", "–"
		if p99 := quantile(p99s[name], 0.5); p99 > 0 {
			late, lateRatio = fmt.Sprintf("%.0f", p99), "1"
		}
		if r := p99ratios[name]; len(r) > 0 {
			lateRatio = fmt.Sprintf("**%.2f** (%.2f–%.2f)", quantile(r, 0.5), slices.Min(r), slices.Max(r))
		}
		c := costs[name]
		fmt.Fprintf(out, "| %s | %s | %.1f | %.1f | %.1f–%.1f | %.1f | %s | %s | %s | %.0f | %d | %d |\n", s.row, name,
			quantile(c, 0.5), quantile(c, 0.25), slices.Min(c), slices.Max(c), users[name]/requests[name], ratio, late, lateRatio, quantile(rates[name], 0.5), errors[name], len(c))
	}
}

// beside is the mean of what the reference slices next to slice i have, 0 for none.
func (s *series) beside(i int, of func(slice) float64) float64 {
	var sum, n float64
	for _, j := range []int{i - 1, i + 1} {
		if j >= 0 && j < len(s.slices) && s.slices[j].reference {
			sum += of(s.slices[j])
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// quantile interpolates between the two nearest values.
func quantile(values []float64, q float64) float64 {
	v := slices.Sorted(slices.Values(values))
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 == len(v) {
		return v[i]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}
