package report

import (
	"fmt"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// rect is the position and size of an element in the window.
type rect struct{ X, Y, W, H float64 }

// rect returns the position of the n-th element of a selector.
func (b *browser) rect(selector string, n int) rect {
	b.tb.Helper()
	return ask[rect](b, fmt.Sprintf(`(() => { const r = document.querySelectorAll(%q)[%d].getBoundingClientRect();
		return { X: r.x, Y: r.y, W: r.width, H: r.height }; })()`, selector, n))
}

func (b *browser) text(selector string, n int) string {
	b.tb.Helper()
	return ask[string](b, fmt.Sprintf(`document.querySelectorAll(%q)[%d].textContent`, selector, n))
}

// click clicks in the middle of the n-th element of a selector.
func (b *browser) click(selector string, n int) {
	b.tb.Helper()
	r := b.rect(selector, n)
	b.do(chromedp.MouseClickXY(r.X+r.W/2, r.Y+r.H/2))
	b.settle()
}

// drag moves the mouse from one point to another with the left button down.
func (b *browser) drag(x0, y0, x1, y1 float64) {
	b.tb.Helper()
	left := []chromedp.MouseOption{chromedp.ButtonType(input.MouseButtonLeft), chromedp.ClickCount(1)}
	b.do(chromedp.MouseEvent(chromedp.MousePressed, x0, y0, left...),
		chromedp.MouseEvent(chromedp.MouseMoved, (x0+x1)/2, (y0+y1)/2, left...), chromedp.MouseEvent(chromedp.MouseMoved, x1, y1, left...),
		chromedp.MouseEvent(chromedp.MouseReleased, x1, y1, left...))
	b.settle()
}

// wheel turns the mouse wheel.
func (b *browser) wheel(x, y, dy float64, modifiers ...chromedp.Modifier) {
	b.tb.Helper()
	b.do(chromedp.MouseEvent(chromedp.MouseWheel, x, y, chromedp.ButtonModifiers(modifiers...),
		func(p *input.DispatchMouseEventParams) { p.DeltaX, p.DeltaY = 1e-3, dy })) // Chromium does not send an event with a delta of 0
	b.settle()
}

func (b *browser) key(keys string) {
	b.tb.Helper()
	b.do(chromedp.KeyEvent(keys))
	b.settle()
}

// window returns the time range that both schedules show, in ticks, and its label, which must be the same for both.
func (b *browser) window() (t0, t1 float64, label string) {
	b.tb.Helper()
	above, below := b.text(".range", 0), b.text(".range", 1)
	if above != below {
		b.tb.Errorf("the schedules show %q and %q, want the same", above, below)
	}
	v := ask[[]float64](b, `(v => [v.t0, v.t1])(document.querySelector('.view').report.view)`)
	return v[0], v[1], above
}

// colours counts the colours of the n-th canvas of a selector.
func (b *browser) colours(selector string, n int) int {
	b.tb.Helper()
	return ask[int](b, fmt.Sprintf(`(c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size)(
		document.querySelectorAll(%q)[%d])`, selector, n))
}

// touch taps on a point.
func (b *browser) touch(x, y float64) {
	b.tb.Helper()
	b.swipe(x, y)
}

// swipe puts a finger down, moves it through points, and lifts it.
func (b *browser) swipe(points ...float64) {
	b.tb.Helper()
	kind := input.DispatchTouchEventType("touchStart")
	for i := 0; i < len(points); i += 2 {
		b.do(call(input.DispatchTouchEvent, input.DispatchTouchEventParams{
			Type: kind, TouchPoints: []*input.TouchPoint{{X: points[i], Y: points[i+1]}},
		}))
		kind = "touchMove"
	}
	b.do(call(input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: "touchEnd", TouchPoints: []*input.TouchPoint{}}))
	b.settle()
}

// toView scrolls to the schedules.
func (b *browser) toView() {
	b.tb.Helper()
	ask[bool](b, `(document.querySelector('.view').scrollIntoView(), true)`)
	b.settle()
}
