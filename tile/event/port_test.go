package event

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPortBackPressure sends without pause through two places to a receiver that
// takes one item every ten cycles.
func TestPortBackPressure(t *testing.T) {
	e := New()
	p, err := NewPort[int](e, PortConfig{Places: 2, Latency: 3, Credit: 1})
	require.NoError(t, err)
	next := 0
	send := func(Time) {
		for next < 5 && p.Send(next) {
			next++
		}
	}
	var arrivals, taken []Time
	var items []int
	var take Handler
	busy := false
	take = e.Handle(func(now Time, _ uint64) {
		v, ok := p.Take()
		if busy = ok; ok {
			items = append(items, v)
			taken = append(taken, now)
			e.After(10, take, 0)
		}
	})
	p.Arrived = func(now Time) {
		arrivals = append(arrivals, now)
		if !busy {
			busy = true
			e.After(0, take, 0)
		}
	}
	p.Freed = send
	send(0)
	require.Equal(t, 0, p.Free())
	_, ok := p.Peek()
	require.False(t, ok, "it has not arrived")
	require.NoError(t, e.Run(context.Background(), Forever))
	require.Equal(t, []int{0, 1, 2, 3, 4}, items)
	// The first two arrive together; a place is back a cycle after it was left, and
	// the next item arrives three cycles later.
	require.Equal(t, []Time{3, 3, 7, 17, 27}, arrivals)
	require.Equal(t, []Time{3, 13, 23, 33, 43}, taken)
	s := p.Stats()
	require.Equal(t, uint64(5), s.Sent)
	require.Equal(t, uint64(5), s.Taken)
	require.Equal(t, uint64(3), s.Refused)
	require.EqualValues(t, 2, s.Used.Max())
	// In use until the credit is back: item 0 in 0..4, 1 in 0..14, 2 in 4..24, ...
	require.Equal(t, Time(53), e.Now())
	require.InDelta(t, (4.+14+20+20+20)/53, s.Used.Mean(e.Now()), 1e-12)
	require.Equal(t, 2, p.Free())
}

// TestNewPortUsed asks for the use of a port that is not there from cycle 0 on.
func TestNewPortUsed(t *testing.T) {
	e := New()
	require.NoError(t, e.Run(context.Background(), 7))
	p, err := NewPort[int](e, PortConfig{Places: 2})
	require.NoError(t, err)
	require.True(t, p.Send(1))
	require.Zero(t, p.Stats().Used.Area(e.Now()))
	require.NoError(t, e.Run(context.Background(), 10))
	require.EqualValues(t, 3, p.Stats().Used.Area(e.Now()))
}

// TestPortKeepsItems sends and takes at random times: everything arrives once and
// in order, after the latency, never more than the places at a time.
func TestPortKeepsItems(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 2))
		e := New()
		cfg := PortConfig{Places: 1 + rng.IntN(5), Latency: Time(rng.IntN(5)), Credit: Time(rng.IntN(4))}
		p, err := NewPort[Time](e, cfg) // items are when they were sent
		require.NoError(t, err)
		sent, got, waiting := 0, 0, 0
		last := Time(0)
		var send, take Handler
		told := 0
		p.Freed = func(Time) { told++; require.Positive(t, p.Free()) }
		p.Arrived = func(Time) { waiting++ }
		send = e.Handle(func(now Time, _ uint64) {
			if free := p.Free(); p.Send(now) {
				require.Positive(t, free)
				sent++
			} else {
				require.Zero(t, free)
			}
			e.After(Time(rng.IntN(4)), send, 0)
		})
		take = e.Handle(func(now Time, _ uint64) {
			require.Equal(t, waiting, p.Len())
			front, there := p.Peek()
			v, ok := p.Take()
			require.Equal(t, there, ok)
			if ok {
				require.Equal(t, front, v)
				require.GreaterOrEqual(t, now-v, cfg.Latency)
				require.GreaterOrEqual(t, v, last)
				last = v
				got++
				waiting--
			}
			require.LessOrEqual(t, sent-got, cfg.Places)
			e.After(Time(rng.IntN(6)), take, 0)
		})
		e.After(0, send, 0)
		e.After(0, take, 0)
		require.NoError(t, e.Run(context.Background(), 500))
		require.Greater(t, got, 20)
		s := p.Stats()
		require.Equal(t, uint64(sent), s.Sent)
		require.Equal(t, uint64(got), s.Taken)
		if s.Refused > 0 {
			require.Positive(t, told)
		}
		require.LessOrEqual(t, s.Used.Mean(e.Now()), float64(s.Used.Max()))
		require.LessOrEqual(t, s.Used.Max(), uint64(cfg.Places))
	}
}

// TestFreedOnce refuses three times and expects one call when a place is free, and
// none for the places after it.
func TestFreedOnce(t *testing.T) {
	e := New()
	p, err := NewPort[int](e, PortConfig{Places: 2})
	require.NoError(t, err)
	freed := 0
	p.Freed = func(Time) { freed++ }
	require.True(t, p.Send(1))
	require.True(t, p.Send(2))
	for range 3 {
		require.False(t, p.Send(3))
	}
	require.NoError(t, e.Run(context.Background(), Forever))
	for want := range 2 {
		_, ok := p.Take()
		require.True(t, ok)
		require.NoError(t, e.Run(context.Background(), Forever))
		require.Equal(t, want+1, p.Free())
		require.Equal(t, 1, freed)
	}
}

func TestPortRefusesShapes(t *testing.T) {
	for _, c := range []struct {
		cfg  PortConfig
		want string
	}{
		{PortConfig{}, "event: port with 0 places, expected at least 1"},
		{PortConfig{Places: 1, Latency: -1}, "event: port with a latency of -1 cycles, expected at least 0"},
		{PortConfig{Places: 1, Credit: -2}, "event: port with credits of -2 cycles, expected at least 0"},
	} {
		_, err := NewPort[int](New(), c.cfg)
		require.EqualError(t, err, c.want)
	}
}
