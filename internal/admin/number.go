package admin

import "github.com/prometheus/client_golang/prometheus"

// Number is a metric whose values somebody else keeps: a part that not every daemon has.
type Number struct {
	// Name is without the prefix ramjet_, Help one sentence.
	Name, Help string
	// Counter makes it a counter; else it is a gauge.
	Counter bool
	// Label is the name of the one label that its values have, "" = none.
	Label string
	// Values yields each value with the value of its label. How many there are must not
	// depend on the configuration. It is called at each scrape, also by several at a
	// time.
	Values func(yield func(value float64, label string))
}

// numbers is a prometheus.Collector.
type numbers []described

type described struct {
	Number
	desc *prometheus.Desc
}

func newNumbers(all []Number) numbers {
	var n numbers
	for _, one := range all {
		var labels []string
		if one.Label != "" {
			labels = []string{one.Label}
		}
		n = append(n, described{one, desc(one.Name, one.Help, labels...)})
	}
	return n
}

// Describe implements prometheus.Collector.
func (n numbers) Describe(out chan<- *prometheus.Desc) {
	for _, one := range n {
		out <- one.desc
	}
}

// Collect implements prometheus.Collector.
func (n numbers) Collect(out chan<- prometheus.Metric) {
	for _, one := range n {
		kind := prometheus.GaugeValue
		if one.Counter {
			kind = prometheus.CounterValue
		}
		one.Values(func(value float64, label string) {
			if one.Label == "" {
				out <- prometheus.MustNewConstMetric(one.desc, kind, value)
				return
			}
			out <- prometheus.MustNewConstMetric(one.desc, kind, value, label)
		})
	}
}
