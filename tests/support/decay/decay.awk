# Radioactive decay: reads `name = value` lines, writes curve.txt (time, amount left) and tells the half-life.
$2 == "=" { value[$1] = $3 }
END {
    for (step = 0; step <= value["steps"]; step++)
        printf "%d %.12e\n", step, value["amount"] * exp(-value["rate"] * step) > "curve.txt"
    printf "half-life = %.12e\n", log(2) / value["rate"]
    print "DECAY: done"
}
