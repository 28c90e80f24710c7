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

// scripts lists the files of the page's script, in the order in which they are joined.
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

// script returns the page's only script, wrapped in a function so that it defines no globals.
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

// securityPolicy returns the page's Content-Security-Policy: the page may run only this script and load nothing.
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
