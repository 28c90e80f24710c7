package report

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
)

// shown formats a time in its two largest units, as the page does.
func shown(d time.Duration) string {
	units := []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	for i := range 3 {
		if d < units[i].size {
			continue
		}
		small := units[i+1]
		n := int64(d.Round(small.size) / small.size)
		per := int64(units[i].size / small.size)
		if n%per == 0 {
			return fmt.Sprintf("%d %s", n/per, units[i].name)
		}
		return fmt.Sprintf("%d %s %d %s", n/per, units[i].name, n%per, small.name)
	}
	return fmt.Sprintf("%g s", math.Round(d.Seconds()*10)/10)
}

func TestPageInABrowser(t *testing.T) {
	r := generatedReport(t, 4, 5000)
	logs := r.Sections[0].Schedules
	b := start(t)
	b.screen(1280, 900, false)
	b.open(r)
	b.shoot("desktop")

	t.Run("charts are drawn", func(t *testing.T) {
		b.tb = t
		for selector, least := range map[string]int{".gantt": 12, ".strip canvas": 4, ".axis": 3} {
			for n := range ask[int](b, fmt.Sprintf("document.querySelectorAll(%q).length", selector)) {
				if got := b.colours(selector, n); got < least {
					t.Errorf("%s %d has %d colours, want at least %d", selector, n, got, least)
				}
			}
		}
		paths := ask[[]int](b, `[...document.querySelectorAll('svg.chart .line')].map(p => p.getAttribute('d').length)`)
		if len(paths) != 4 { // three distributions and a learning curve
			t.Errorf("%d lines, want 4", len(paths))
		}
		for i, n := range paths {
			if n < 500 {
				t.Errorf("line %d is only %d characters long", i, n)
			}
		}
		if n := ask[int](b, `document.querySelectorAll('.forest circle').length`); n != 2 {
			t.Errorf("%d differences are drawn, want 2", n)
		}
	})
	t.Run("levels are those of the logs", func(t *testing.T) { b.tb = t; sameLevels(t, b, logs) })
	t.Run("zoom by wheel, drag, keys and buttons", func(t *testing.T) { b.tb = t; testZoom(t, b) })
	t.Run("a click tells of a job", func(t *testing.T) { b.tb = t; testDrill(t, b, logs) })
	t.Run("a job is found by its id", func(t *testing.T) { b.tb = t; testSearch(t, b, logs) })
	t.Run("another schedule is chosen", func(t *testing.T) { b.tb = t; testSelect(t, b, logs) })
	t.Run("the first difference is shown", func(t *testing.T) { b.tb = t; testDiffers(t, b) })
	t.Run("tables sort and unfold", func(t *testing.T) { b.tb = t; testTable(t, b) })
	b.tb = t
	b.media("dark", "")
	b.shoot("desktop-dark")
	b.media("light", "print")
	b.shoot("print")
	b.clean()
}

// sameLevels compares the strips with eval.NewTimeline.
func sameLevels(t *testing.T, b *browser, logs []*sim.Log) {
	t.Helper()
	const parts = 97
	for k, log := range logs {
		want := eval.NewTimeline(log, log.Records[len(log.Records)-1].At, parts)
		for _, c := range []struct {
			name string
			most bool
			want []float64
		}{{"waiting", true, want.Waiting}, {"held", false, want.Held}, {"open", false, want.Open}, {"lent", false, want.Lent}, {"need", false, want.Need}} {
			got := ask[[]struct{ Mean, Most float64 }](b, fmt.Sprintf(`document.querySelector('.view').report.level(%d, %q, %d)`, k, c.name, parts))
			for i := range got {
				have := got[i].Mean
				if c.most {
					have = got[i].Most
				}
				if math.Abs(have-c.want[i]) > 1e-3*math.Max(1, c.want[i]) {
					t.Errorf("%s of %s: %g in part %d, want %g", c.name, log.Scheduler, have, i, c.want[i])
					break
				}
			}
		}
	}
}

func testZoom(t *testing.T, b *browser) {
	b.toView()
	all0, all1, whole := b.window()
	gantt := b.rect(".gantt", 0)
	x, y := gantt.X+gantt.W*0.4, gantt.Y+gantt.H/2

	drawn := `Number(document.querySelector('.view').dataset.drawn)`
	before, at := ask[int](b, drawn), ask[float64](b, `scrollY`)
	b.wheel(x, y, -200)
	if _, _, label := b.window(); label != whole || ask[int](b, drawn) != before || ask[float64](b, `scrollY`) == at {
		t.Error("the wheel alone zooms or draws, want the page to scroll")
	}
	b.toView()

	expect := func(what string, ok func(t0, t1 float64) bool, other string) string {
		t.Helper()
		t0, t1, label := b.window()
		if !ok(t0, t1) || label == other {
			t.Errorf("%s: the window is %g to %g of %g to %g, labelled %q", what, t0, t1, all0, all1, label)
		}
		return label
	}
	b.wheel(x, y, -200, chromedp.ModifierCtrl)
	zoomed := expect("Ctrl and wheel", func(t0, t1 float64) bool { return t0 > all0 && t1 < all1 }, whole)

	gutter := ask[float64](b, `document.querySelector('.view').report.view.gutter`)
	t0, t1, _ := b.window()
	width := gantt.W - gutter
	b.drag(gantt.X+gutter+width*0.25, y, gantt.X+gutter+width*0.75, y+3)
	zoomed = expect("a drag", func(a, z float64) bool {
		return math.Abs(a-(t0+(t1-t0)*0.25)) < (t1-t0)*0.01 && math.Abs(z-(t0+(t1-t0)*0.75)) < (t1-t0)*0.01
	}, zoomed)

	t0, t1, _ = b.window()
	b.key(kb.ArrowRight)
	zoomed = expect("→", func(a, z float64) bool { return a > t0 && z > t1 && math.Abs((z-a)-(t1-t0)) < 1e-6*(t1-t0) }, zoomed)
	b.key("+")
	zoomed = expect("+", func(a, z float64) bool { return math.Abs((z-a)-(t1-t0)/2) < 1e-6*(t1-t0) }, zoomed)
	b.key("-")
	zoomed = expect("-", func(a, z float64) bool { return math.Abs((z-a)-(t1-t0)) < 1e-6*(t1-t0) }, zoomed)
	b.key(kb.Escape)
	isWhole := func(a, z float64) bool { return a == all0 && z == all1 }
	expect("Escape", isWhole, zoomed)

	b.click("[data-do=in]", 0)
	half := expect("the button +", func(a, z float64) bool { return math.Abs((z-a)-(all1-all0)/2) < 1e-6*all1 }, whole)
	b.click("[data-do=reset]", 0)
	expect("Reset", isWhole, half)

	b.drag(x, gantt.Y+gantt.H*0.25, x+1, gantt.Y+gantt.H*0.5)
	if rows := ask[[]float64](b, `(v => [v.r0, v.r1])(document.querySelector('.view').report.view)`); rows[0] != 32 || rows[1] != 64 && rows[1] != 65 {
		t.Errorf("a drag down shows rows %v, want 32 to 64", rows)
	}
	b.shootWindow("zoomed")
	double := []chromedp.MouseOption{chromedp.ClickCount(2)}
	b.do(chromedp.MouseClickXY(x, y), chromedp.MouseClickXY(x, y, double...))
	b.settle()
	expect("a double click", isWhole, half)
	if rows := ask[float64](b, `(v => v.r1 - v.r0)(document.querySelector('.view').report.view)`); rows != 128 {
		t.Errorf("a double click shows %g rows, want all 128", rows)
	}
}

// longest returns the job with the longest stay on one GPU, and the position of its box in the window.
func (b *browser) longest(log *sim.Log) (job int, x, y float64) {
	b.tb.Helper()
	var longest eval.Stay
	for id, all := range eval.Stays(log) {
		for _, s := range all {
			if s.To-s.From > longest.To-longest.From {
				job, longest = id, s
			}
		}
	}
	held := longest.Pieces[0]
	row := float64(held.GPU) + float64(held.Count)/2
	for _, s := range log.Config.Cluster.Servers[:held.Server] {
		row += float64(s.GPUs)
	}
	_, until, _ := b.window()
	tick := ask[float64](b, `document.querySelector('.view').report.data.tick`)
	gutter := ask[float64](b, `document.querySelector('.view').report.view.gutter`)
	gantt := b.rect(".gantt", 0)
	x = gantt.X + gutter + (longest.From+longest.To).Seconds()/2/tick/until*(gantt.W-gutter)
	y = gantt.Y + row/float64(log.Config.Cluster.GPUs())*gantt.H
	return job, x, y
}

// testDrill clicks on a job, and closes what the click opens.
func testDrill(t *testing.T, b *browser, logs []*sim.Log) {
	b.toView()
	log := logs[0]
	job, x, y := b.longest(log)
	b.do(chromedp.MouseEvent(chromedp.MouseMoved, x, y))
	b.settle()
	name := log.Jobs[job].Name
	if tip := b.text(".stage > .tip", 0); !strings.HasPrefix(tip, "Job "+name) || ask[bool](b, `document.querySelector('.stage > .tip').hidden`) {
		t.Errorf("the tip says %q, want job %s", tip, name)
	}
	b.shootWindow("tip")
	b.do(chromedp.MouseClickXY(x, y))
	b.settle()
	b.tellsOf(name, job, logs[:2])
	if b.colours(".over", 0) < 2 {
		t.Error("the job is not marked")
	}
	b.shootWindow("job")
	if lower, panel := b.rect("canvas.gantt", 1), b.rect(".drill", 0); lower.Y+lower.H > panel.Y {
		t.Errorf("the panel begins at %v, and the lower schedule ends at %v", panel.Y, lower.Y+lower.H)
	}
	b.click(".drill header button", 0)
	if !ask[bool](b, `document.querySelector('.drill').hidden`) {
		t.Error("the panel does not close")
	}
}

// tellsOf checks that the panel shows what the job's rows in the logs contain.
func (b *browser) tellsOf(name string, job int, logs []*sim.Log) {
	b.tb.Helper()
	if ask[bool](b, `document.querySelector('.drill').hidden`) {
		b.tb.Fatal("no panel is open")
	}
	if got := b.text(".drill h4", 0); got != "Job "+name {
		b.tb.Errorf("the panel tells of %q, want job %s", got, name)
	}
	for i, log := range logs {
		if got := b.text(".drill h5", i); got != log.Scheduler {
			b.tb.Errorf("side %d is of %q, want %s", i, got, log.Scheduler)
		}
		facts := ask[map[string]string](b, fmt.Sprintf(`Object.fromEntries([...document.querySelectorAll('.drill .side')[%d].querySelectorAll('dl div')]
			.map(d => [d.querySelector('dt').textContent, d.querySelector('dd').textContent]))`, i))
		row, stays := eval.Rows(log)[job], eval.Stays(log)[job]
		for fact, want := range map[string]string{
			"JCT": shown(row.JCT()), "Waited": shown(row.Start - row.Submit), "Pieces": fmt.Sprint(len(stays)),
		} {
			if facts[fact] != want {
				b.tb.Errorf("%s of job %s under %s: %q, want %q", fact, name, log.Scheduler, facts[fact], want)
			}
		}
	}
}

func testSearch(t *testing.T, b *browser, logs []*sim.Log) {
	b.toView()
	_, _, whole := b.window()
	b.click(".find input", 0)
	b.key("4321")
	b.key(kb.Enter)
	b.tellsOf("4321", 4321, logs[:2])
	if _, _, label := b.window(); label == whole {
		t.Error("the window does not go to the job")
	}
	b.click(".find input", 0)
	b.key("-there-is-none")
	b.key(kb.Enter)
	if got := b.text(".found", 0); got != "No such job" {
		t.Errorf("a search for nothing says %q", got)
	}
	b.click("[data-do=reset]", 0)
}

func testSelect(t *testing.T, b *browser, logs []*sim.Log) {
	b.toView()
	before := ask[int](b, `Number(document.querySelector('.view').dataset.drawn)`)
	b.do(chromedp.Focus(chromedp.CSS(`[data-panel="1"] select`)))
	b.key(kb.ArrowDown)
	m := eval.Measure(logs[2])
	want := "mean JCT " + shown(time.Duration(m.MeanJCT*float64(time.Second)))
	if got := b.text(".about", 1); !strings.HasPrefix(got, want) {
		t.Errorf("the schedule below says %q, want %q", got, want)
	}
	if ask[int](b, `Number(document.querySelector('.view').dataset.drawn)`) == before {
		t.Error("nothing is drawn anew")
	}
	b.key(kb.ArrowUp)
}

func testDiffers(t *testing.T, b *browser) {
	ask[bool](b, `(document.querySelector('.differs').scrollIntoView({ block: 'center' }), true)`)
	b.settle()
	if got := b.text(".differs", 0); !strings.Contains(got, "srtf preempts job 217") || !strings.Contains(got, "12 min left") {
		t.Errorf("the difference reads %q", got)
	}
	b.click(".differs button", 0)
	t0, t1, _ := b.window()
	at := (30 * time.Hour).Seconds() / ask[float64](b, `document.querySelector('.view').report.data.tick`)
	if at < t0 || at > t1 {
		t.Errorf("the window %g to %g does not show the difference at %g", t0, t1, at)
	}
	if got := b.text(".drill h4", 0); got != "Job 217" {
		t.Errorf("the panel tells of %q, want job 217", got)
	}
	if first := ask[string](b, `document.querySelector('[data-panel="0"] select').selectedOptions[0].textContent`); first != "srtf" {
		t.Errorf("%s stands above, want srtf", first)
	}
	b.toView()
	b.click("[data-do=reset]", 0)
}

func testTable(t *testing.T, b *browser) {
	ask[bool](b, `(scrollTo(0, 0), true)`)
	b.settle()
	order := func() string {
		return ask[string](b, `[...document.querySelector('table').tBodies[0].rows].map(r => r.cells[0].querySelector('span').textContent).join(' ')`)
	}
	b.click("table:first-of-type thead button", 1)
	up := order()
	b.click("table:first-of-type thead button", 1)
	if down := order(); up != "srtf sjfskip fifo" || down != "fifo sjfskip srtf" {
		t.Errorf("by mean JCT: %s and %s", up, down)
	}
	visible := func() int {
		return ask[int](b, `[...document.querySelector('table').tHead.rows[0].cells].filter(c => c.offsetWidth > 0).length`)
	}
	before := visible()
	b.click(".fold", 0)
	if after := visible(); after <= before {
		t.Errorf("%d columns after unfolding, %d before", after, before)
	}
	b.click(".fold", 0)
}

// TestPageOnAPhone checks that on a phone the page is as wide as the screen, and that a touch shows a job's details.
func TestPageOnAPhone(t *testing.T) {
	r := generatedReport(t, 2, 1000)
	b := start(t)
	b.screen(390, 844, true)
	b.open(r)
	b.shoot("phone")
	if w := ask[float64](b, `Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)`); w > 390 {
		t.Errorf("the page is %g wide, want 390 at most", w)
	}
	if scrolls := ask[bool](b, `(x => x.scrollWidth > x.clientWidth)(document.querySelector('.tablebox'))`); !scrolls {
		t.Error("the table does not scroll in its box")
	}
	b.toView()
	_, _, whole := b.window()
	log := r.Sections[0].Schedules[0]
	job, x, y := b.longest(log)
	b.touch(x, y)
	b.tellsOf(log.Jobs[job].Name, job, r.Sections[0].Schedules[:2])
	b.shootWindow("phone-job")
	b.click(".drill header button", 0)
	b.click("[data-do=in]", 0)
	if _, _, label := b.window(); label == whole {
		t.Error("the button + does not zoom")
	}
	t0, t1, _ := b.window()
	b.swipe(x, y, x-60, y)
	if a, z, _ := b.window(); a <= t0 || math.Abs((z-a)-(t1-t0)) > 1e-6*(t1-t0) {
		t.Errorf("a swipe to the left moves the window from %g, %g to %g, %g", t0, t1, a, z)
	}
	b.media("dark", "")
	b.shoot("phone-dark")
	b.clean()
}

func TestHostilePageInABrowser(t *testing.T) {
	b := start(t)
	b.screen(1280, 900, false)
	b.open(hostileReport(t))
	if n := ask[int](b, `document.images.length`); n > 0 {
		t.Errorf("%d images", n)
	}
	if got := ask[string](b, `document.title`); strings.Contains(got, "broken") && !strings.Contains(got, "<img") {
		t.Errorf("the title became %q", got)
	}
	b.toView()
	b.click(".find input", 0)
	b.do(chromedp.SetValue(chromedp.CSS(".find input"), "</script>"))
	b.key(kb.Enter)
	if got := b.text(".drill h4", 0); !strings.Contains(got, "<img src=x") {
		t.Errorf("the panel tells of %q", got)
	}
	if n := ask[int](b, `document.images.length`); n > 0 {
		t.Errorf("%d images in the panel", n)
	}
	b.shoot("hostile")
	b.clean()
}

// TestOtherPagesInABrowser checks that the page draws without errors with servers on loan, with failures, with a single policy
// and without any optional part.
func TestOtherPagesInABrowser(t *testing.T) {
	b := start(t)
	b.screen(1280, 900, false)
	loans := builtin(t, "loaning-small-v1", nil, "fifo+loan", "srtf+loan")
	failures := builtin(t, "embedded-small-v1", failing, "srtf", "las")
	single := builtin(t, "loaning-small-v1", nil, "fifo+loan")
	bare := single
	bare.Schedules = nil
	cut := Section{}
	e := generated(t, 300, 2, 2, 1)
	e.Config.Horizon = 40 * time.Hour
	for _, policy := range []string{"fifo", "srtf"} {
		log := play(t, e, policy)
		cut.Results = append(cut.Results, result(log, "cut off", "test-0", policy))
		cut.Schedules = append(cut.Schedules, log)
	}
	cut.compare(t, "fifo")
	few := Section{Schedules: []*sim.Log{shares(t)}}
	few.Results = []eval.Result{result(few.Schedules[0], "shares", "all", "fifo")}
	few.compare(t, "fifo")
	for _, c := range []struct {
		name string
		r    *Report
	}{
		{"loans", &Report{Title: "loaning-small-v1", Sections: []Section{loans}}},
		{"several", &Report{Title: "Several scenarios", Sections: []Section{failures, single, bare}}},
		{"cut", &Report{Title: "cut off", Sections: []Section{cut}}},
		{"shares", &Report{Title: "shares", Sections: []Section{few}}},
		{"nothing", &Report{Title: "nothing", Curves: []Curve{{Policy: "untrained"}}}},
		{"idle", &Report{Sections: []Section{{Comparison: few.Comparison, Schedules: []*sim.Log{{Scheduler: "idle"}}}}}},
	} {
		b.open(c.r)
		b.shoot(c.name)
		if c.name == "loans" {
			sameLevels(t, b, loans.Schedules)
		}
		if c.name == "several" {
			sameLevels(t, b, failures.Schedules)
		}
		b.clean()
	}
}

// TestLargePageInABrowser checks that a report of 50,000 jobs is small enough, loads and zooms.
func TestLargePageInABrowser(t *testing.T) {
	r := large(t)
	if n := len(write(t, r)); n > 10_000_000 {
		t.Errorf("the page has %d bytes, want 10 million at most", n)
	} else {
		t.Logf("the page has %d bytes", n)
	}
	b := start(t)
	b.screen(1280, 900, false)
	b.open(r)
	t.Logf("first paint after %.0f ms, schedules after %.0f ms", ask[float64](b, `performance.getEntriesByName('first-contentful-paint')[0].startTime`),
		ask[float64](b, `performance.getEntriesByName('schedules')[0].startTime`))
	b.toView()
	_, _, whole := b.window()
	gantt := b.rect(".gantt", 0)
	for range 3 {
		b.wheel(gantt.X+gantt.W/2, gantt.Y+gantt.H/2, -120, chromedp.ModifierCtrl)
	}
	if _, _, label := b.window(); label == whole {
		t.Error("the wheel does not zoom")
	}
	took := ask[[]float64](b, `(async () => {
		const frame = () => new Promise(r => requestAnimationFrame(r)), took = [];
		for (let i = 0; i < 8; i++) {
			document.querySelector(i < 4 ? '[data-do=in]' : '[data-do=out]').click();
			const t = performance.now(); await frame(); await frame(); took.push(Math.round(performance.now() - t));
		}
		return took; })()`)
	t.Logf("two frames of a zoom take %v ms", took)
	if b.colours(".gantt", 0) < 12 || b.colours(".gantt", 1) < 12 {
		t.Error("the schedules are blank")
	}
	b.shoot("large")
	b.clean()
}
