package env

type TimeLimit = timeLimit
