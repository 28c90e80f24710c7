package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"strings"
)

//go:embed page
var files embed.FS

// scripts in the order in which they stand in the page, as one.
func scripts() []string {
	return []string{
		"format.js", "data.js", "schedule.js", "lines.js", "raster.js", "strips.js", "drill.js", "over.js", "view.js", "tables.js",
		"main.js",
	}
}

func read(name string) string {
	b, err := files.ReadFile("page/" + name)
	if err != nil {
		panic("report: embedded page: " + err.Error())
	}
	return string(b)
}

// script is the page's only script. It has a scope of its own.
func script() string {
	var b strings.Builder
	b.WriteString("'use strict';\n(() => {\n")
	for _, name := range scripts() {
		b.WriteString(read(name))
	}
	b.WriteString("})();\n")
	return b.String()
}

func style() string { return read("report.css") }

// securityPolicy is what the page may do: run this script and no other, and load nothing.
func securityPolicy() template.HTMLAttr {
	sum := sha256.Sum256([]byte(script()))
	return template.HTMLAttr(`content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-` +
		base64.StdEncoding.EncodeToString(sum[:]) + `'"`)
}

func pageTemplate() *template.Template {
	t, err := template.New("report").Parse(read("report.html.tmpl"))
	if err != nil {
		panic("report: embedded page: " + err.Error())
	}
	return t
}
