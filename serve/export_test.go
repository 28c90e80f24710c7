package serve

type Problem = problem
